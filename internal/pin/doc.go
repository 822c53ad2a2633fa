// Package pin records the definitions of tools, prompts, resources and resource templates, and the
// instructions of a server, at its first use, so that it cannot change them unnoticed (a rug pull).
// A definition that differs from its pin must not be used until the user has seen the difference
// and accepted it.
//
//	pins, err := pin.Open(path)
//	server := pin.Server{ID: "files", Name: "filesystem", Capabilities: capabilities}
//	report, err := pins.Check(server, mcp.KindTool, tools)
//	for _, v := range report.Verdicts {
//		if !v.Usable() {
//			… // v.Changes lists the differences
//		}
//	}
//	err = pins.Accept(server, mcp.KindTool, tools, "read")
//
// # What is pinned
//
// A pin covers the whole definition: name, title, descriptions, schemas, annotations, icons, _meta
// and unknown members. Definitions that are equal as JSON are equal: white space, the order of
// members and escapes do not matter. The size and the annotation lastModified of a resource or
// template do not matter either, because they change with the content.
//
// The pins of a server are valid while its name and the client's capabilities stay the same,
// because servers offer different tools to different clients. If one of them changes, all
// definitions of the server are [StateNew].
//
// A server is identified by its ID and by the file that defines it, so that two projects, each with
// a server of the same ID, have pins of their own.
//
// # First use
//
// The definitions of an unknown server are trusted and pinned, each [mcp.Kind] at its first
// [File.Check]. A definition that the server adds later is [StateNew] and must be accepted. A
// definition that the server removes keeps its pin. After the first use only [File.Accept] changes
// a pin, and only [File.Forget] removes one.
package pin
