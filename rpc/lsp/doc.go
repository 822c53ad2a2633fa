// Package lsp implements the additions of the Language Server Protocol (LSP 3.17) to JSON-RPC, for
// servers and clients that use package rpc: how an editor starts a server, how a request is
// cancelled, and the error codes. It has no types for the messages of the protocol.
//
//	stream, err := lsp.Open(ctx, os.Args[1:])
//	...
//	peer := rpc.Options{
//		Framing:      framing.ContentLength,
//		Cancellation: lsp.Cancellation(),
//		Handler:      router.Serve,
//	}.New(stream)
//
// A client that starts a server uses [ServerOutput] in place of framing.ContentLength. The program
// in internal/examples/languageserver is a whole server.
package lsp

// The error codes that LSP adds (LSP 3.17, "Response Message").
const (
	CodeServerNotInitialized = -32002
	CodeRequestFailed        = -32803
	CodeServerCancelled      = -32802
	CodeContentModified      = -32801
	CodeRequestCancelled     = -32800
)
