// Package conformance tests stdwire against independent programs: clients of the official SDKs and
// of mcp-go, real servers, an authorization server, and the JSON Schemas of MCP's revisions, which
// every message in these tests must match. The tests need Node packages (STDWIRE_NODE_DIR, see
// .ci/node) and the schemas (STDWIRE_SUITES), and are skipped without them.
//
// The package also exports fixtures for tests of other packages: taps that record a connection, on
// stdio and over HTTP, and the validation of a record.
package conformance
