package web

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// described returns a configuration file with the server that a text describes: its URL, the path
// of its bundle, its command line, or its definition without a name. A text that is another JSON
// value is returned as it is, and typed is false. Relative paths are those of dir. The server is
// called after its host, package or program.
func described(text, dir string) (file []byte, typed bool, err error) {
	text = strings.TrimSpace(text)
	server := &config.Server{}
	switch {
	case text == "":
		return nil, false, command.BadArgs("enter a command line, a URL or JSON")
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &members) != nil ||
			members["command"] == nil && members["url"] == nil {
			return []byte(text), false, nil // comments are allowed
		}
		var known struct{ Command, URL string }
		_ = json.Unmarshal([]byte(text), &known) // the parser of the file says what is wrong
		file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
			suggestedID(known.URL, []string{known.Command}): json.RawMessage(text)}})
		return file, true, err
	}
	t := target.NewTarget()
	taken, err := t.TakeAddress(text)
	switch {
	case err != nil:
		return nil, true, err
	case !taken:
		if t.Words, err = shellwords.CommandLine(text); err != nil {
			return nil, true, command.BadArgs("%v", err)
		}
	case t.Remote.URL == "" && !filepath.IsAbs(text): // a bundle
		t.Words[len(t.Words)-1] = filepath.Join(dir, text)
	}
	server.URL = t.Remote.URL
	if server.URL == "" {
		server.Command, server.Args = t.Words[0], t.Words[1:]
	}
	server.ID = suggestedID(server.URL, t.Words)
	return config.Encode([]*config.Server{server}, nil, nil), true, nil
}

// suggestedID returns a name for the server at a URL or with a command.
func suggestedID(address string, words []string) (id string) {
	if u, err := url.Parse(address); address != "" && err == nil {
		id = itemname.SuggestID(u.Hostname())
	} else if len(words) > 0 && words[0] != "" {
		t := target.NewTarget()
		t.Words = words
		if last := words[len(words)-1]; strings.HasSuffix(last, ".mcpb") {
			t.Words = []string{strings.TrimSuffix(last, ".mcpb")}
		}
		id = t.ConnectionName()
	}
	if id == "" {
		return "server"
	}
	return id
}
