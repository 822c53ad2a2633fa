// Package examples has whole programs below it, each of which shows how a package is used: server,
// client and gateway are the smallest useful ones, extension adds an extension to MCP, and
// languageserver speaks the Language Server Protocol.
package examples
