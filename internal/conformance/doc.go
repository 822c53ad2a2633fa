// Package conformance tests stdwire with programs that are not its own: the official SDKs' clients, real servers, an authorization server, and
// the schemas of MCP's revisions on every message that passes. The tests need Node packages (STDWIRE_NODE_DIR, see .ci/node) and the schemas
// (STDWIRE_SUITES), and skip what they cannot do without.
//
// What is not a test is for the tests of other modules, too: taps that record a conversation, on stdio and over HTTP, and the check of a record.
package conformance
