// Package client is an MCP client: it starts a server or connects to one, negotiates the revision,
// calls its tools, reads its resources, gets its prompts, answers its input requests and follows
// its changes.
//
//	c, err := client.Spawn(ctx, "weather-server")
//	if err != nil {
//		// server "weather-server": exited with status 3 before answering: "missing API key"
//		return err
//	}
//	defer c.Close()
//	for tool, err := range c.Tools(ctx) {
//		…
//	}
//	result, err := c.CallTool(ctx, "weather_get", Query{City: "Oslo"})
//
// It supports servers of every revision from 2024-11-05 to 2026-07-28, and hides their differences.
//
// # Which era
//
// MCP is spoken in two ways (see [mcp]). A modern server is asked, with the request
// server/discover, what it speaks; a legacy one wants the handshake initialize first. As long as
// [Options] do not say which it is, the client probes (2026-07-28, stdio, "Backward
// Compatibility"):
//
//	server/discover ─┬─► a result, or an error that only modern servers know ────────► modern
//	                 ├─► any other answer ──────────────► initialize ────────────────► legacy
//	                 ├─► 5 s of silence, or 1 s after ──► initialize as well, and the
//	                 │   something that is no answer      first good answer counts ──► either
//	                 └─► the process exits ─────────────► started once more,
//	                                                      initialize only ───────────► legacy
//
// All of it shares one budget, Options.StartTimeout, of 60 s: a server that npx has to download
// first takes its time and then answers both. The second start is for servers, among them many
// built on the Rust SDK, that exit when the first thing they hear is not initialize; one that exits
// for reasons of its own does so twice, and the second time is what is reported. On a stream from
// elsewhere there is no second start. The revision in the server's answer is always read, and one
// that is not known here is refused.
//
// # Calls
//
// The path of CallTool from the arguments to the wire:
//
//	CallTool, doTool   check the name, prepare the check of the result
//	do                 apply the options, set the deadline
//	callCached         answer from the cache, or store the result
//	callWithInput      answer input requests, follow a task, repeat the request
//	sendWithRetry      send once more after a lost session or a header mismatch
//	sendOnce           send the request, wait for the response, decode it
//
// A call blocks until its answer is there, its time has run out, or its context ends. In the last
// two cases the client sends notifications/cancelled, and drops a late response. With [OnProgress]
// the server is asked for progress: that extends the call's time, up to a limit, and is delivered
// on the goroutine that made the call. A slow callback delays only its own call.
//
// Lists are sequences, whose pages are fetched as they are wanted: [Client.Tools],
// [Client.Resources], [Client.ResourceTemplates], [Client.Prompts]. For [Client.ReadResource],
// [Client.GetPrompt] and [Client.Complete] too, [Client.Call] has the bytes as the server wrote
// them.
//
// # Questions
//
// While it works on a call, a server may ask the user (Options.OnElicit), the model
// (Options.OnSample), or for Options.Roots, which Options.OnRoots has where they change. The same
// callbacks serve both eras:
//
//	legacy   the server sends a request             ─► callback ─► response, during the call
//	modern   the call's result is "input_required"  ─► callbacks, at most 16 at a time
//	                                                ─► the call again, with their results
//
// What there is a callback for is declared; anything else is refused. The callback's context ends
// when the server takes the question back or forgets the session (legacy), the call has to end
// (modern; its time goes on running while it asks), or the client is closed or the connection ends.
// A modern call returns only when its callbacks have. A callback may call the client.
//
// A callback that fails or panics, and an answer that does not fit the question, make a modern call
// fail with a [*QuestionError]. A legacy server is told that there was an internal error, which the
// log hears in full; or an [*rpc.Error] that the callback returns, as it is. To decline is not a
// failure but a result, [mcp.ElicitDecline].
//
// A call is sent again 10 times at most, then it fails with a [*RoundsError]. With [ByHand], or
// without a callback for one of the questions, the questions are an [*InputRequiredError].
//
// Before it goes on, a server of 2025-11-25 may want the user to do something on web pages, and
// refuse a request until that is done (code -32042). Where Options.ElicitModes has [mcp.ElicitURL],
// the user is asked with OnElicit, and the request sent again when the server says that all is
// done. Servers need not say so: therefore it is also sent after 15 s, after another 30 s, and so
// on, as long as the call has time. If the user declines, that error is returned.
//
// # Tasks
//
// A server may go on with a call by itself and promise the result: as a task, which outlives the
// request. There are two kinds, and one set of methods for both:
//
//	modern      the extension io.modelcontextprotocol/tasks, which the client declares; the
//	            server decides for each call of a tool
//	2025-11-25  the client asks for it, where the server and the tool say that they can
//
// [Client.CallTool] hides them. It looks at the task as often as the server suggests, but from 10
// times a second to once a minute, answers its questions with the callbacks, each of them once, and
// returns what comes of it. A change of the task's state extends the call's time, as progress does.
// When that has run out or ctx ends, the server is asked to cancel the task, which nobody waits
// for. A look that fails is repeated, 3 times in a row at most, less and less often; and no more
// than 256 questions of a task are answered, or the error is a [*RoundsError]. Of a server of
// 2025-11-25, tools that [Client.Tools] has listed as running as tasks only are called as tasks.
//
// [Client.StartTool] returns a [Task] instead: to look at, to wait for, to cancel. Its ID is good
// for another connection to the same server, with [Client.Task]; so it should be kept where the
// task must survive the program. Neither Close nor the end of a wait cancels such a task. What a
// server of 2025-11-25 has of them, [Client.Tasks] tells.
//
// # Results
//
// A tool that declares an outputSchema must keep to it. Options.Output says whether a result that
// does not match is logged or fails the call. Only results of listed tools are checked.
//
// # Changes
//
// Options.OnToolsChanged, OnResourcesChanged and OnPromptsChanged get a list anew when it has
// changed, Options.OnListChanged only that it has, and Options.OnResourceUpdated hears of the
// resources that [Client.Subscribe] names. A modern server tells on a stream, subscriptions/listen;
// if that ends it is opened again, after 1 s and then less and less often, and what may have been
// missed is told as a change.
//
// # Caching
//
// A modern server says of each list and resource, and of server/discover, for how long it may be
// used again and by whom (2026-07-28, Caching). For as long, whoever calls for it, in whatever way,
// gets it from [Options].Cache, and nothing is sent:
//
//	key         method and params, with _meta except progress token, log level and trace context
//	how long    ttlMs after it was received; with OnProgress, after the call was made
//	for whom    "public": all clients that share the cache; otherwise those of them with the same
//	            Options.Principal
//	until       the server reports a change of the list, of the resource, or of one above or below
//	            it, or may have done so unnoticed; Subscribe names the resource; the server answers
//	            with an error; or the cache is full
//
// What was asked for before a change is not kept when it comes after it. Nor are errors, and what
// depends on the answers to questions. Each page of a list is kept for itself, and handed out when
// the next one is there too, because the server may have forgotten the cursor that it leads to;
// then it is asked for again. [Fresh] asks in any case.
//
// A modern server tells of changes only if asked to, by a callback in Options and
// [Client.Subscribe]. A legacy one does not say what may be kept, so nothing is.
//
// # Errors
//
// [Spawn] and [Connect] return a [*StartError], all calls a [*CallError]. Both name the server, say
// what happened in one line, and wrap what tells the cases apart: see there. A tool that fails is
// no error but a result.
//
// # Servers that misbehave
//
// Lines on stdout that are no messages are skipped, and counted with the first few kept for
// [Client.Noise]; so are answers to nothing. Half characters in JSON strings become U+FFFD.
// Requests of the server are always answered: ping, questions that there is a callback for,
// anything else with "method not found". A message over the limits is refused before it is sent, or
// ends the connection when it is received. Lists with endless pages end. When the server's process
// exits, calls fail at once with its status and last words, whoever still holds its pipes; and when
// the client closes, the process and its children end, if need be by SIGKILL.
//
// Everything that waits is bounded: progress and changes coalesce, log messages are dropped when
// nobody takes them, and the goroutine that reads from the server never waits for the application.
package client
