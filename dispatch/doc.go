// Package dispatch describes operations once, and runs them for every surface: MCP tools, a command line, an HTTP API.
//
// An [Operation] is one thing that can be done. A [Spec] says what it is called, what it does to the world, how it can fail; a Go
// function does it; the function's types give the JSON Schemas of its input and output. A [Catalog] holds operations. A [Dispatcher]
// runs a [Call] of one and returns an [Envelope]:
//
//	catalog := dispatch.NewCatalog(dispatch.GateWrite)
//	dispatch.Add(catalog, dispatch.Spec{Name: "note.get", Summary: "Get a note.", Kind: dispatch.Read,
//		Errors: []dispatch.Code{dispatch.NotFound}}, notes.get)
//
//	dispatcher := dispatch.NewDispatcher(catalog, dispatch.Options{})
//	envelope := dispatcher.Dispatch(ctx, &dispatch.Call{Operation: "note.get", Arguments: json.RawMessage(`{"id":"7"}`)})
//	os.Stdout.Write(envelope.AppendJSON(nil)) // {"success":true,"data":{"text":"Buy milk."},"error":null}
//
// # What surfaces are
//
// A surface turns what its users say into calls, and envelopes into what its users see. It takes names, descriptions and schemas from the
// catalog, and adds none. It looks up a code's HTTP status and exit code with [Catalog.CodeInfo]. It does not call another surface. This
// package knows of none of them.
//
// # What a caller gets
//
// Always an envelope, whatever happens: the arguments are wrong, the operation fails, panics, runs out of time, returns what does not
// encode. [Dispatcher.Dispatch] tells the life of a call step by step, and which errors are shown. The rule is that a caller reads
// what an author wrote for it, with [Errorf], and nothing else: the text of any other error goes to the log.
//
// # Codes
//
// A caller branches on a failure's [Code]. The set is closed: those of this package, and what an application adds with
// [Catalog.Declare] before it registers operations that use them. An operation declares in [Spec.Errors] which it may return, and
// its description ends with them.
//
// # Kinds and gates
//
// [Spec.Kind] says whether an operation reads, writes, destroys and so on, for surfaces to show and policies to act on. [Spec.Gate] keeps
// it out of the catalog altogether unless the program was started with that gate open. Neither is part of the input.
//
// # Confirmation
//
// A destructive operation runs only when [Call.Confirmed] says that somebody has agreed to just this call; otherwise it fails with
// [ConfirmationRequired] after the arguments were found to be right, and before anything was done. It is for the surface to ask whoever can
// say yes, and to call again. An operation that destroys only at times asks by itself, with [Confirm]. What an operation of kind [Eval] is
// to run passes a blocklist of words in any case (see [Options.Blocklist]).
//
// # Sessions and instances
//
// [Sessions] hold what lives on between calls, a running process, say: each is opened by one call, named by an id, and used by later ones. [Instances] are the
// named targets of a service, one of them the default. An operation that embeds [Session] or [Instance] in its input has the argument that selects
// one, on every surface alike. The session in which a call ran is in [Envelope.Session], named by the caller or not.
//
// # Context
//
// The context of an operation carries its call: [CallFrom], [Progress] and [Logger] find it, and do no harm where there is none.
package dispatch
