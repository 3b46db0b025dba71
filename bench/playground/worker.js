// Runs Fencepost in a thread of its own: one request after the other, each with a number.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function loaded() {
  const [python, archive] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href }),
    fetch("fencepost.zip").then((answer) => answer.arrayBuffer()),
  ]);
  python.unpackArchive(archive, "zip", { extractDir: "/app" });
  return python.runPython("import sys; sys.path.insert(0, '/app'); import bridge; bridge.answer");
}

const answer = loaded();
answer.then(() => postMessage({ ready: true }), (error) => postMessage({ failed: String(error) }));
onmessage = async ({ data: { number, request } }) => {
  try {
    postMessage({ number, result: (await answer)(request) });
  } catch (error) {
    postMessage({ number, failed: String(error) });
  }
};
