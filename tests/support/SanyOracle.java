import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import tla2sany.drivers.SANY;
import tla2sany.modanalyzer.SpecObj;
import util.ToolIO;

/** Prints for each module whether SANY accepts it, and what it reports otherwise. */
public class SanyOracle {
    public static void main(final String[] arguments) {
        final PrintStream output = System.out;
        for (final String module : arguments) {
            final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            final PrintStream errors = new PrintStream(bytes);
            ToolIO.out = errors;
            ToolIO.err = errors;
            String text = "accepted";
            try {
                final SpecObj spec = new SpecObj(module);
                SANY.frontEndMain(spec, module, errors);
                final boolean accepted =
                    spec.errorLevel == 0
                        && spec.getParseErrors().isSuccess()
                        && spec.getSemanticErrors().isSuccess()
                        && spec.getInitErrors().isSuccess();
                if (!accepted) {
                    text = "refused: " + bytes;
                }
            } catch (final Throwable problem) {
                text = "refused: " + problem + " " + bytes;
            }
            errors.flush();
            output.println("@@" + module + " " + text.replace('\n', ' ').replace('\r', ' '));
        }
        output.println("@@end");
        System.exit(0);
    }
}
