package mcp

// DefaultMaxSend is the default limit, in bytes, of a message that a client or server sends over a
// stream: 10 MiB less 128 KiB. Programs built on the official TypeScript SDK exit silently at 10
// MiB.
const DefaultMaxSend = 10<<20 - 128<<10
