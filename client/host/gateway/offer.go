package gateway

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A WithheldItem is an item that a server has and the gateway does not offer.
type WithheldItem struct {
	Kind   mcp.Kind // one of a list, "tool as an operation", or "instructions"
	Name   string   // the server's own name for it, its URI or its URI template
	Reason Reason
	Detail string // the first change, the ID of the colliding server, or the error
	OfUser bool   // it is in the list of a user, and nobody else's business
}

// A Reason says why an item is withheld.
type Reason string

const (
	ReasonChanged  Reason = "changed" // its definition differs from its pin
	ReasonNew      Reason = "new"     // the server did not have it at first use
	ReasonIdentity Reason = "another" // the server's identity differs from that of its pins
	// an earlier server has its name, its URI, or a template that matches its URI
	ReasonCollision Reason = "collision"
	// its definition is invalid or cannot be compared with its pin
	ReasonUnusable Reason = "unusable"
)

// An offer is an item as it is offered.
type offer struct {
	*definition.Definition
	// public is the definition with its public name, for all downstream servers; nil before the
	// first. It is guarded by itemList.mu.
	public json.RawMessage
}

// An unreviewedItem is one that a pin withholds, or the want of one.
type unreviewedItem struct {
	server  string          // serverInfo.name of who sent it
	name    string          // the server's own
	text    json.RawMessage // its definition as it was sent
	forApps bool            // clients learn nothing of it
	// what clients may learn of it: its definition is that which was accepted, if there is one,
	// because the hints in it say who may know of it
	known server.Withheld
}

// A withheldError is the error of a call of an item that is withheld.
type withheldError struct {
	server string
	item   WithheldItem
}

func (e *withheldError) Error() string {
	see := "pin diff -s " + e.server
	switch e.item.Reason {
	case ReasonCollision:
		see = "status"
	case ReasonUnusable:
		see = "doctor " + e.server
	}
	return fmt.Sprintf("server %q: its %s %.100q is withheld (%s); stdwire %s shows why", e.server,
		e.item.Kind, e.item.Name, e.item.Reason, see)
}

func isWithheld(err error) bool {
	_, ok := errors.AsType[*withheldError](err)
	return ok
}
