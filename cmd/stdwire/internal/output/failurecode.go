package output

import "github.com/stdwire/stdwire/dispatch"

// failureCodes maps exit codes of operations to codes of failures with the same exit code.
var failureCodes = map[int]string{1: "internal", 2: "bad_args", 6: "call_timeout", 7: "denied"}

// FailureCode returns the code of the failure for an error of a server built on stdwire, so that a
// refusal has one exit code, whichever command meets it.
func FailureCode(code dispatch.Code) string {
	info, _ := dispatch.NewCatalog().CodeInfo(code)
	if failure, ok := failureCodes[info.ExitCode]; ok {
		return failure
	}
	return "tool_is_error"
}
