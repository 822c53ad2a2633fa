package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

const versionKey = "io.modelcontextprotocol/protocolVersion"

// Checked counts the messages that were validated, by kind: the method of a request or
// notification, or the method and " result" or " error" for a response.
type Checked map[string]int

// A Conversation validates the messages of one connection, in order, against the schema of the
// revision of each. It is not safe for concurrent use.
type Conversation struct {
	schemas *Schemas
	from    byte // the sender whose messages are validated
	// of other messages: as negotiated, or that of the latest modern request
	revision string
	open     map[string]pendingRequest // in-flight requests by direction and id
	Checked  Checked
}

type pendingRequest struct{ method, revision string }

// Server returns a Conversation that validates the messages of the server.
func (s *Schemas) Server() *Conversation { return s.conversation(fromServer) }

// Client returns a Conversation that validates the messages of the client.
func (s *Schemas) Client() *Conversation { return s.conversation(fromClient) }

func (s *Schemas) conversation(from byte) *Conversation {
	return &Conversation{schemas: s, from: from, revision: "2025-11-25",
		open: map[string]pendingRequest{}, Checked: Checked{}}
}

type envelope struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProtocolVersion string
		Meta            map[string]json.RawMessage `json:"_meta"`
	}
	Result json.RawMessage
	Error  *struct{ Code int }
}

// Frame adds the next message and returns an error if it is invalid. A line that is not a message
// is an error if the validated side sent it.
func (c *Conversation) Frame(server bool, frame []byte) error {
	from, to := byte(fromClient), byte(fromServer)
	if server {
		from, to = to, from
	}
	frame = bytes.TrimSpace(frame)
	if len(frame) > 0 && frame[0] == '[' {
		var batch []json.RawMessage
		if err := json.Unmarshal(frame, &batch); err != nil {
			return err
		}
		for _, one := range batch {
			if err := c.Frame(server, one); err != nil {
				return err
			}
		}
		return nil
	}
	var m envelope
	if err := json.Unmarshal(frame, &m); err != nil {
		if from == c.from {
			return fmt.Errorf("%.500s: %w", frame, err)
		}
		return nil
	}
	key, revision := string(to)+string(m.ID), c.revision
	var request pendingRequest
	if m.Method != "" {
		key = string(from) + string(m.ID)
		revision = c.revisionOf(m)
		if m.ID != nil {
			c.open[key] = pendingRequest{m.Method, revision}
		}
	} else {
		request = c.open[key]
		delete(c.open, key)
		if request.revision != "" {
			revision = request.revision
		}
	}
	if request.method == "initialize" && m.Result != nil {
		var agreed struct{ ProtocolVersion string }
		if err := json.Unmarshal(m.Result, &agreed); err != nil {
			return err
		}
		c.revision, revision = agreed.ProtocolVersion, agreed.ProtocolVersion
	}
	if from != c.from {
		return nil
	}
	if err := c.check(m, request, revision, frame); err != nil {
		return fmt.Errorf("revision %s: %.2000s: %w", revision, frame, err)
	}
	return nil
}

// revisionOf returns the revision of a request or notification, and stores it for later messages.
func (c *Conversation) revisionOf(m envelope) string {
	var version string
	if json.Unmarshal(m.Params.Meta[versionKey], &version) == nil && version != "" {
		if _, err := c.schemas.revision(version); err == nil {
			c.revision = version
			return version
		}
		return "2026-07-28" // its schema has the error for an unknown revision
	}
	if m.Method == "initialize" {
		return cmp.Or(m.Params.ProtocolVersion, c.revision)
	}
	return c.revision
}

func (c *Conversation) check(m envelope, request pendingRequest, revision string,
	frame []byte) error {
	d, err := c.schemas.revision(revision)
	if err != nil {
		return err
	}
	switch {
	case m.Method != "":
		c.Checked[m.Method]++
		err = d.message(m.Method, frame)
	case request.method == "":
		err = errors.New("response to no request")
	case m.Error != nil:
		c.Checked[request.method+" error"]++
		err = d.failure(m.Error.Code, frame)
	default:
		c.Checked[request.method+" result"]++
		err = d.result(request.method, frame, m.Result)
	}
	if err != nil {
		return err
	}
	return d.validate("JSONRPCMessage", frame)
}
