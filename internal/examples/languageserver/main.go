// Command languageserver is a language server for plain text. It marks each TODO with a diagnostic
// and shows the length of the word at the cursor. An editor starts it with --stdio, --pipe=NAME or
// --socket=PORT.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/lsp"
)

type object = map[string]any

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"` // in UTF-16 code units
}

type server struct {
	mu        sync.Mutex
	documents map[string][]string // the lines of each open document, by its URI
	shutdown  bool
}

func main() {
	stream, err := lsp.Open(context.Background(), os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	s := &server{documents: map[string][]string{}}
	var r rpc.Router
	rpc.Handle(&r, "initialize", s.initialize)
	rpc.HandleNotification(&r, "textDocument/didOpen", s.didOpen)
	rpc.Handle(&r, "textDocument/hover", s.hover)
	rpc.Handle(&r, "workspace/executeCommand", s.executeCommand)
	rpc.Handle(&r, "shutdown", func(context.Context, any) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shutdown = true
		return nil, nil
	})
	running, exit := context.WithCancel(context.Background())
	rpc.HandleNotification(&r, "exit", func(context.Context, any) error {
		exit() // a handler must not call Shutdown itself
		return nil
	})
	peer := rpc.Options{Framing: framing.ContentLength,
		Cancellation: lsp.Cancellation(), Handler: r.Serve,
		// the editor reads "Internal error" only, and nothing about a notification
		Hooks: rpc.Hooks{Call: func(e rpc.CallEvent) {
			if e.End && e.Direction == rpc.Inbound && e.Err != nil {
				log.Printf("%s: %v", e.Method, e.Err)
			}
		}}}.New(stream)
	select {
	case <-running.Done(): // what came before exit is still answered
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = peer.Shutdown(ctx)
		cancel()
	case <-peer.Done():
	}
	if err := peer.Wait(); err != nil && err != io.EOF {
		log.Fatal(err)
	}
	if !s.shutdown { // LSP 3.17, "Exit Notification"
		os.Exit(1)
	}
}

func (s *server) initialize(context.Context, object) (object, error) {
	return object{"serverInfo": object{"name": "todo"}, "capabilities": object{
		"textDocumentSync": object{"openClose": true}, "hoverProvider": true,
		"executeCommandProvider": object{"commands": []string{"wait"}}}}, nil
}

func (s *server) didOpen(ctx context.Context, p struct {
	TextDocument struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"textDocument"`
}) error {
	lines := strings.Split(p.TextDocument.Text, "\n")
	s.mu.Lock()
	s.documents[p.TextDocument.URI] = lines
	s.mu.Unlock()
	diagnostics := []object{}
	for i, line := range lines {
		if at := strings.Index(line, "TODO"); at >= 0 {
			start := len(utf16.Encode([]rune(line[:at])))
			diagnostics = append(diagnostics, object{"message": "TODO",
				"range": object{"start": position{i, start}, "end": position{i, start + 4}}})
		}
	}
	return rpc.PeerFromContext(ctx).Notify(ctx, "textDocument/publishDiagnostics",
		object{"uri": p.TextDocument.URI, "diagnostics": diagnostics})
}

func (s *server) hover(_ context.Context, p struct {
	TextDocument struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
	Position position `json:"position"`
}) (object, error) {
	s.mu.Lock()
	lines := s.documents[p.TextDocument.URI]
	s.mu.Unlock()
	if p.Position.Line < 0 || p.Position.Line >= len(lines) {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "there is no line %d", p.Position.Line)
	}
	line := utf16.Encode([]rune(lines[p.Position.Line]))
	at := min(max(p.Position.Character, 0), len(line))
	before, after := string(utf16.Decode(line[:at])), string(utf16.Decode(line[at:]))
	start := strings.TrimRightFunc(before, unicode.IsLetter) // the text before the word
	end := strings.TrimLeftFunc(after, unicode.IsLetter)     // the text after it
	word := strings.TrimPrefix(before, start) + strings.TrimSuffix(after, end)
	return object{"contents": fmt.Sprintf("%s has %d letters", word, len([]rune(word)))}, nil
}

// executeCommand waits until the editor cancels the command.
func (s *server) executeCommand(ctx context.Context, _ object) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
