package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

const versionKey = "io.modelcontextprotocol/protocolVersion"

// Checked says how many messages of which kinds were checked: the methods of requests and notifications; for answers with " result" or
// " error" behind the method.
type Checked map[string]int

// A Conversation checks the messages of one connection, in the order in which they pass, against the schema of the revision that each
// belongs to. It is not safe for concurrent use.
type Conversation struct {
	schemas  *Schemas
	from     byte                      // whose messages are checked
	revision string                    // of what belongs to no request: as agreed on, or that of the latest modern request
	open     map[string]pendingRequest // requests by direction and id
	Checked  Checked
}

type pendingRequest struct{ method, revision string }

// Server returns the check of a server's messages, Client of a client's.
func (s *Schemas) Server() *Conversation { return s.conversation(fromServer) }

// Client is described at Server.
func (s *Schemas) Client() *Conversation { return s.conversation(fromClient) }

func (s *Schemas) conversation(from byte) *Conversation {
	return &Conversation{schemas: s, from: from, revision: "2025-11-25", open: map[string]pendingRequest{}, Checked: Checked{}}
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

// Frame takes the next message, and returns what is wrong with it. Lines that are no messages are wrong if they come from the side
// that is checked.
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

// revisionOf returns the revision that a request or notification is written in, and remembers it where it stays.
func (c *Conversation) revisionOf(m envelope) string {
	var version string
	if json.Unmarshal(m.Params.Meta[versionKey], &version) == nil && version != "" {
		if _, err := c.schemas.revision(version); err == nil {
			c.revision = version
			return version
		}
		return "2026-07-28" // whose schema says how to refuse it
	}
	if m.Method == "initialize" {
		return cmp.Or(m.Params.ProtocolVersion, c.revision)
	}
	return c.revision
}

func (c *Conversation) check(m envelope, request pendingRequest, revision string, frame []byte) error {
	d, err := c.schemas.revision(revision)
	if err != nil {
		return err
	}
	switch {
	case m.Method != "":
		c.Checked[m.Method]++
		err = d.message(m.Method, frame)
	case request.method == "":
		err = errors.New("answers nothing that was asked")
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
