// Package client is an MCP client: it starts a server or takes a stream to one, finds out which revision to speak, and calls its tools.
//
//	c, err := client.Spawn(ctx, "weather-server")
//	if err != nil {
//		return err // such as: server "weather-server": exited with status 3 before answering: "boom: missing API key"
//	}
//	defer c.Close()
//	for tool, err := range c.Tools(ctx) {
//		…
//	}
//	result, err := c.CallTool(ctx, "weather_get", Query{City: "Oslo"})
//
// The other end may be any server of any revision, 2024-11-05 to 2026-07-28. What differs between them stays in here.
//
// # Which era
//
// MCP is spoken in two ways (see [mcp]). A modern server is asked, with the request server/discover, what it speaks; a legacy one wants the handshake
// initialize first. As long as [Options] do not say which it is, the client probes (2026-07-28, stdio, "Backward Compatibility"):
//
//	server/discover ─┬─► a result, or an error that only modern servers know ────────► modern
//	                 ├─► any other answer ──────────────► initialize ────────────────► legacy
//	                 ├─► 5 s of silence, or 1 s after ──► initialize as well, and the
//	                 │   something that is no answer      first good answer counts ──► either
//	                 └─► the process exits ─────────────► started once more,
//	                                                      initialize only ───────────► legacy
//
// All of it shares one budget, Options.StartTimeout, of 60 s: a server that npx has to download first takes its time and then answers
// both. The second start is for servers, among them many built on the Rust SDK, that exit when the first thing they hear is not initialize;
// one that exits for reasons of its own does so twice, and the second time is what is reported. On a stream from elsewhere there is no
// second start. The revision in the server's answer is always read, and one that is not known here is refused.
//
// # Calls
//
// A call blocks until its answer is there, its time has run out, or its context ends. In the last two cases the server is told with
// notifications/cancelled, and an answer that comes late is dropped. With [OnProgress] the server is asked for progress: that
// extends the call's time, up to a limit, and is delivered on the goroutine that made the call. So a slow callback delays its own call only.
//
// # Errors
//
// [Spawn] and [Connect] return a [*StartError], all calls a [*CallError]. Both name the server, say what happened in one line, and wrap what
// tells the cases apart: see there. A tool that fails is no error but a result.
//
// # Servers that misbehave
//
// Lines on stdout that are no messages are skipped, and counted with the first few kept for [Client.Noise]; so are answers to nothing. Half
// characters in JSON strings become U+FFFD. Requests of the server are always answered: ping, roots/list if there are Options.Roots, anything else with
// "method not found". A message over the limits is refused before it is sent, or ends the connection when it is received. Lists with endless
// pages end. When the server's process exits, calls fail at once with its status and last words, whoever still holds its pipes; and when the
// client closes, the process and its children end, if need be by SIGKILL.
//
// Everything that waits is bounded: progress and list changes coalesce, log messages are dropped when nobody takes them, and the goroutine that reads
// from the server never waits for the application.
package client
