// Package examples has whole programs below it, each of which shows how a package is used: server,
// client and gateway are the smallest useful ones, extension adds an extension to MCP, and
// languageserver speaks the Language Server Protocol. The comment of package migrate is for those
// who come from another library. The tests of this package also run what README shows.
package examples
