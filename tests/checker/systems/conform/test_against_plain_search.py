"""Verdicts on random lease histories, some of them corrupted, agree with an independent exhaustive
search over all name bindings and all interleavings.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.lease import Event, conform, folder_with, verdicts, written

State: TypeAlias = tuple[Any, ...]
"""Waiting clients, holder, last token, the lease of each client, sorted messages in flight."""
START: State = (("Alice", "Bob"), None, 0, (None, None), ())
CLIENTS = ("Alice", "Bob")


def steps(state: State) -> Iterator[tuple[Event | None, State]]:
    """Yields each enabled step as the event that it shows, or None, and the successor state."""
    line, holder, issued, leases, net = state
    if holder is None and line:
        shown = {"source": "server", "event": "granted", "client": line[0], "token": issued + 1}
        sent = tuple(sorted((*net, ("granted", line[0], issued + 1))))
        yield shown, (line[1:], line[0], issued + 1, leases, sent)
    if holder is not None:
        shown = {"source": "server", "event": "stalled"}
        for client in CLIENTS:
            yield {**shown, "client": client}, (line, None, issued, leases, net)
    for index, (kind, client, token) in enumerate(net):
        rest = net[:index] + net[index + 1 :]
        me = CLIENTS.index(client)
        if kind == "granted":
            renewed = tuple(token if n == me else old for n, old in enumerate(leases))
            yield None, (line, holder, issued, renewed, rest)
        else:
            yield (
                {"source": "store", "event": "written", "client": client, "token": token},
                (line, holder, issued, leases, rest),
            )
    for me, lease in enumerate(leases):
        if lease is not None:
            kept = tuple(None if n == me else old for n, old in enumerate(leases))
            sent = tuple(sorted((*net, ("written", CLIENTS[me], lease))))
            yield None, (line, holder, issued, kept, sent)


def search_verdict(events: list[Event]) -> tuple[str, int]:
    """Returns the verdict, and the length of the longest readable prefix."""
    names = sorted({event["client"] for event in events})
    longest = 0
    for meaning in permutations(CLIENTS, min(len(names), len(CLIENTS))):
        for chosen in permutations(names, len(meaning)):
            binding = dict(zip(chosen, meaning, strict=True))
            longest = max(longest, longest_prefix(events, binding))
    if longest == len(events):
        return "allowed", longest
    return "not allowed", longest


def longest_prefix(events: list[Event], binding: Mapping[str, str]) -> int:
    logs = [
        [
            {**server, "client": binding.get(server["client"])}
            for server in events
            if server["source"] == source
        ]
        for source in ("server", "store")
    ]
    seen = {(START, 0, 0)}
    todo = [(START, 0, 0)]
    while todo:
        state, *read = todo.pop()
        for shown, after in steps(state):
            position = list(read)
            if shown is not None:
                source = int(shown["source"] == "store")
                if position[source] == len(logs[source]) or logs[source][position[source]] != shown:
                    continue
                position[source] += 1
            node = (after, position[0], position[1])
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return max(server + store for _, server, store in seen)


def history(chance: random.Random) -> list[Event]:
    """Returns the events of a random run, with random client names."""
    state, events = START, list[Event]()
    names = dict(zip(CLIENTS, chance.sample(["a", "b", "c", "10.0.0.7:44"], 2), strict=True))
    for _ in range(chance.randrange(16)):
        enabled = list(steps(state))
        if not enabled:
            break
        shown, state = chance.choice(enabled)
        if shown is not None:
            events.append({**shown, "client": names[shown["client"]]})
    return events


def corrupted(events: list[Event], chance: random.Random) -> list[Event]:
    if not events:
        return events
    index, other = chance.randrange(len(events)), chance.randrange(len(events))
    match chance.randrange(5):
        case 0:
            del events[index]
        case 1:
            events.insert(other, dict(events[index]))
        case 2:
            events[index], events[other] = events[other], events[index]
        case 3:
            events[index] = {**events[index], "client": events[other]["client"]}
        case _:
            if "token" in events[index]:
                events[index] = {**events[index], "token": 3 - events[index]["token"]}
    return events


def test_random_histories(tmp_path: Path) -> None:
    chance = random.Random(7)
    whole = {f"whole {n}": history(chance) for n in range(60)}
    hurt = {f"hurt {n}": corrupted(history(chance), chance) for n in range(200)}
    histories = {key: events for key, events in {**whole, **hurt}.items() if events}
    results = verdicts(conform(folder_with(tmp_path), written(histories), "--format", "json"))
    expected = {key: search_verdict(events) for key, events in histories.items()}
    # A history with more names than clients exceeds the model, so it is "unknown" if it does not
    # match.
    for key, events in histories.items():
        lacking = len({event["client"] for event in events}) > len(CLIENTS)
        if lacking and results[key][0] == "unknown":
            expected[key] = ("unknown", expected[key][1])
    wrong = {key: json.dumps(histories[key]) for key in expected if expected[key] != results[key]}
    assert not wrong, [(results[key], expected[key], text) for key, text in wrong.items()][:3]
    assert all(results[key][0] == "allowed" for key in whole if key in results)
    verdicts_ = [verdict for verdict, _ in results.values()]
    assert verdicts_.count("not allowed") > 50
    assert sum(results[key][0] == "allowed" for key in hurt if key in results) > 20
