// Package redis is a client of servers that speak RESP3, the protocol of Redis 6, Valkey, KeyDB
// and Dragonfly.
//
// A [Client] has one connection for the commands of all callers, which are pipelined, and another
// one for channels, once somebody subscribes. Both are connected again when they break. While the
// server cannot be reached, commands fail at once.
//
// A command is sent once. If its reply is lost, nobody knows whether the server has run it: the
// error is [ErrUnknown], and the caller decides. Only [Client.DoIdempotent] sends a command again.
// An error that matches [ErrUnavailable] says that the command has not run.
//
// The client keeps to one server, or to the master that Sentinel names. It refuses a node of Redis
// Cluster. Commands that block, such as BLPOP, would hold up all other callers: do not send them.
package redis
