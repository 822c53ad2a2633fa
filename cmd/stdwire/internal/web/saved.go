package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/savedcall"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

// savedCalls is the file of saved calls, which stdwire test reads too.
type savedCalls struct {
	path string
	mu   sync.Mutex // held while the file is read or written
}

// openSaved returns the file of saved calls at path, or the user's file if path is "".
func openSaved(path string) (*savedCalls, error) {
	if path != "" {
		return &savedCalls{path: path}, nil
	}
	path, err := target.StateFile("calls.json")
	return &savedCalls{path: path}, err
}

// savedFile is the file as the page shows it.
type savedFile struct {
	Path string          `json:"path"`
	File json.RawMessage `json:"file"`
}

// read reads the file. A file that does not exist has no calls.
func (s *savedCalls) read() (*savedFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := userfile.Text(userfile.Read(s.path, savedcall.MaxFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &savedFile{s.path, json.RawMessage(`{"calls":[]}`)}, nil
	}
	if err == nil {
		_, err = savedcall.Parse(text)
	}
	if err != nil {
		return nil, command.Usagef("%s: %v", s.path, err)
	}
	return &savedFile{s.path, text}, nil
}

// write replaces the file.
func (s *savedCalls) write(text json.RawMessage) error {
	if _, err := savedcall.Parse(text); err != nil {
		return command.BadArgs("%v", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(s.path, indented.Bytes(), 0o600)
}

// A savedRun is the outcome of saved calls.
type savedRun struct {
	Outcomes []savedcall.Outcome `json:"outcomes"`
	JUnit    string              `json:"junit"`
}

// runSaved makes calls as stdwire test does.
func (s *site) runSaved(ctx context.Context, file savedcall.File) (*savedRun, error) {
	outcomes := file.Run(ctx, func(ctx context.Context, c *savedcall.Call) (result json.RawMessage,
		err error) {
		in := callRequest{Server: c.Server}
		in.Server = cmp.Or(in.Server, s.servers.soleID())
		in.Method, in.Params = c.Request()
		_, tool, err := s.servers.callable(in.Server, in.Method, in.Params)
		if err != nil {
			return nil, err
		}
		err = s.servers.use(ctx, in.Server, func(_ *server, cl *client.Client) error {
			result, err = s.calls.send(ctx, cl, in, tool, []client.CallOption{client.Fresh()})
			return err
		})
		return result, err
	})
	text, err := savedcall.JUnit(filepath.Base(s.saved.path), outcomes)
	return &savedRun{outcomes, string(text)}, err
}
