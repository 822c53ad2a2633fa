// Package subscriptions knows which changes of lists, resources and tasks each client is told.
package subscriptions

import (
	"iter"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/outgoing"
)

// A Change is a notification about a change. Equal notifications that wait for the same client are
// sent once.
type Change struct {
	Method  string
	Subject string // the URI of a resource or the ID of a task; "" for a list
}

// A Subscription is an open subscriptions/listen request.
type Subscription struct {
	Link     outgoing.Link
	Client   string          // the name in its clientInfo
	Meta     outgoing.Params // _meta of its notifications, without the closing brace
	Lists    []string        // the methods of the list changes in the filter
	Subjects []Change
	URIs     []string       // the resources among the subjects
	Watched  *quota.Account // for these URIs
	Missed   []Change       // changes from before the acknowledgment, which are sent after it
	active   bool           // the acknowledgment was sent
}

// A Client has the subscriptions of a connection, and the changes that wait to be sent. It is not
// safe for concurrent use.
type Client struct {
	URIs      map[string]bool // by resources/subscribe of a legacy client
	open      []*Subscription
	bySubject map[Change][]*Subscription
	waiting   map[Change]struct{}
}

// Len returns the number of open subscriptions/listen requests.
func (c *Client) Len() int { return len(c.open) }

// Names returns the names of the clients of the open subscriptions.
func (c *Client) Names() []string {
	names := make([]string, len(c.open))
	for i, sub := range c.open {
		names[i] = sub.Client
	}
	return names
}

// Subjects returns the subjects of the open subscriptions.
func (c *Client) Subjects() iter.Seq[Change] { return maps.Keys(c.bySubject) }

// Waits reports whether a change waits to be sent.
func (c *Client) Waits() bool { return len(c.waiting) > 0 }

// Add adds a subscription, whose changes are kept until it is acknowledged.
func (c *Client) Add(sub *Subscription) {
	c.open = append(c.open, sub)
	for _, n := range sub.Subjects {
		if c.bySubject == nil { // most connections have subscriptions to lists only
			c.bySubject = map[Change][]*Subscription{}
		}
		c.bySubject[n] = append(c.bySubject[n], sub)
	}
}

// Acknowledged queues the changes that the subscription has missed, and later ones when they come.
func (c *Client) Acknowledged(sub *Subscription) {
	sub.active = true
	for _, n := range sub.Missed {
		c.queue(n)
	}
	sub.Missed = nil
}

// Remove removes a subscription.
func (c *Client) Remove(sub *Subscription) {
	isSub := func(other *Subscription) bool { return other == sub }
	c.open = slices.DeleteFunc(c.open, isSub)
	for _, n := range sub.Subjects {
		if rest := slices.DeleteFunc(c.bySubject[n], isSub); len(rest) > 0 {
			c.bySubject[n] = rest
		} else {
			delete(c.bySubject, n)
		}
	}
}

// to returns the subscriptions whose filter includes a change. The caller must not modify the
// slice.
func (c *Client) to(n Change) (all []*Subscription) {
	if n.Subject != "" {
		return c.bySubject[n]
	}
	for _, sub := range c.open {
		if slices.Contains(sub.Lists, n.Method) {
			all = append(all, sub)
		}
	}
	return all
}

// Note queues a change if the client is told of it. legacy says that it is a legacy client whose
// handshake is done.
func (c *Client) Note(n Change, legacy bool) {
	wanted := legacy && c.wants(n)
	for _, sub := range c.to(n) {
		switch {
		case sub.active:
			wanted = true
		case !slices.Contains(sub.Missed, n):
			sub.Missed = append(sub.Missed, n)
		}
	}
	if wanted {
		c.queue(n)
	}
}

// wants reports whether a legacy client is told of a change.
func (c *Client) wants(n Change) bool {
	return n.Subject == "" || c.URIs[n.Subject] || n.Method == mcp.NotificationTaskStatus
}

func (c *Client) queue(n Change) {
	if c.waiting == nil {
		c.waiting = map[Change]struct{}{}
	}
	c.waiting[n] = struct{}{}
}

// A Message is a notification to send.
type Message struct {
	Change
	Link outgoing.Link
	Meta outgoing.Params // see Subscription; nil for a legacy client
}

// Take empties the queue and returns its messages. link is that of a legacy client whose handshake
// is done, or nil.
func (c *Client) Take(link outgoing.Link) (all []Message) {
	for n := range c.waiting {
		if link != nil && c.wants(n) {
			all = append(all, Message{Change: n, Link: link})
		}
		for _, sub := range c.to(n) {
			if sub.active {
				all = append(all, Message{n, sub.Link, sub.Meta})
			}
		}
	}
	c.waiting = nil
	return all
}
