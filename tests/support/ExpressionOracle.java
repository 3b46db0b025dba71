import tla2sany.semantic.ExprNode;
import tlc2.tool.TLCState;
import tlc2.tool.coverage.CostModel;
import tlc2.tool.impl.FastTool;
import tlc2.util.Context;
import tlc2.value.impl.Enumerable;
import tlc2.value.impl.Value;

/** Prints the value of each assumption of a module, or the error of its evaluation. */
public class ExpressionOracle {
    private static final int MAX_ELEMENTS = 1000;

    public static void main(final String[] arguments) {
        final FastTool tool = new FastTool(arguments[0], arguments[0]);
        final ExprNode[] assumptions = tool.getAssumptions();
        for (int i = 0; i < assumptions.length; i++) {
            String text;
            try {
                Value value = (Value) tool.eval(
                    assumptions[i], Context.Empty, TLCState.Empty, CostModel.DO_NOT_RECORD);
                // TLC evaluates the elements of some sets only if they are needed.
                if (value instanceof Enumerable && value.isFinite() && value.size() < MAX_ELEMENTS) {
                    value = value.toSetEnum();
                }
                value.deepNormalize();
                text = "value " + value;
            } catch (final Throwable problem) {
                text = "error " + problem.getMessage();
            }
            System.out.println("@@" + i + " " + text.replace('\n', ' ').replace('\r', ' '));
        }
        System.out.println("@@end");
        System.exit(0);
    }
}
