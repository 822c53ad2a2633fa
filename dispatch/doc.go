// Package dispatch defines operations once and runs them on every surface: as MCP tools, on a
// command line, and through an HTTP API.
//
// An [Operation] is a Go function with a [Spec], which has its name, its effects and its error
// codes. The function's types give the JSON Schemas of its input and output. A [Catalog] holds
// operations. A [Dispatcher] runs a [Call] of an operation and returns an [Envelope]:
//
//	catalog := dispatch.NewCatalog(dispatch.GateWrite)
//	dispatch.Add(catalog, dispatch.Spec{
//		Name: "note.get", Summary: "Get a note.", Type: dispatch.Read,
//		Errors: []dispatch.Code{dispatch.NotFound}}, notes.get)
//
//	dispatcher := dispatch.Options{}.New(catalog)
//	call := &dispatch.Call{Operation: "note.get", Arguments: json.RawMessage(`{"id":"7"}`)}
//	envelope := dispatcher.Dispatch(ctx, call)
//	// {"success":true,"data":{"text":"Buy milk."},"error":null}
//	os.Stdout.Write(envelope.AppendJSON(nil))
//
// # Surfaces
//
// A surface turns user input into calls, and envelopes into output. It takes names, descriptions
// and schemas from the catalog and adds none. It looks up the HTTP status and the exit code of an
// error code with [Catalog.CodeInfo]. It does not call other surfaces, and this package does not
// depend on any.
//
// # Results
//
// A call always returns an envelope, even if the arguments are wrong, or if the operation fails,
// panics, exceeds its timeout, or returns a value that cannot be encoded. [Dispatcher.Dispatch]
// describes the steps of a call and which errors are shown. Callers see the text of errors that the
// operation's author made for them with [Errorf]; the text of other errors only goes to the log.
//
// # Error codes
//
// Callers branch on the [Code] of a failure. The set is closed: the codes of this package and those
// that an application adds. An operation lists in [Spec.Errors] the codes that it can return, which
// appear at the end of its description. An application adds a code in three steps:
//
//	const QuotaExceeded dispatch.Code = "quota_exceeded"
//
//	// 1. Declare it before the operations that return it.
//	err := catalog.Declare(dispatch.CodeInfo{Code: QuotaExceeded, Recoverable: true,
//		HTTPStatus: 429, ExitCode: 5, Summary: "The quota is used up."})
//
//	// 2. List it in the operation's Spec.
//	spec.Errors = []dispatch.Code{QuotaExceeded}
//
//	// 3. Return it from the operation's function.
//	return nil, dispatch.Errorf(QuotaExceeded, "the quota of %d notes is used up", limit)
//
// All surfaces then use its HTTP status and exit code. [Catalog.Register] and [Catalog.Replace]
// refuse an operation with an undeclared code.
//
// # Types and gates
//
// [Spec.Type] tells surfaces and policies whether an operation reads, writes, destroys and so on.
// An operation with a [Spec.Gate] is in the catalog only if the program opens that gate. Neither is
// part of the input.
//
// # Confirmation
//
// A destructive operation runs only if [Call.Confirmed] is set. Otherwise it fails with
// [ConfirmationRequired] after its arguments were validated and before it has any effect. The
// surface asks a person and calls again. An operation that is destructive only for some arguments
// calls [Confirm]. The arguments of an operation of type [Eval] are searched for the words of a
// blocklist (see [Options.Blocklist]).
//
// # Sessions and instances
//
// [Sessions] hold state that outlives a call, such as a running process: one call opens a session,
// and later calls use it by its id. An operation that embeds [Session] in its input has an argument
// for the id. [Envelope.Session] is the session in which a call ran, whether or not the caller
// named it.
//
// [Instances] are several targets of the same operations, such as the root directories of a file
// service. Each has a name, and one is the default. An operation that embeds [Instance] in its
// input has an argument for the name.
//
// # Context
//
// The context of an operation carries its call: [CallFrom], [Progress] and [Logger] find it there,
// and can also be called with other contexts.
package dispatch
