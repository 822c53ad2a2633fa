package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// VersionCommand is stdwire version.
func VersionCommand() Command {
	return Command{
		Name: "version", Usage: "[-o text|json]",
		Summary: "print the version and the supported revisions of MCP",
		Make: func() (Grammar, Runner) {
			var output string
			return Grammar{Flags: []Flag{FormatFlag(&output, "text", "json")}},
				func(_ context.Context, std *term.Streams) error {
					return PrintVersion(std, output, readBuildInfo())
				}
		},
	}
}

// A BuildInfo describes how this program was built.
type BuildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Time    string `json:"time,omitempty"` // of the commit
	// the working tree had uncommitted changes
	Modified  bool           `json:"modified,omitempty"`
	Go        string         `json:"go"`
	Platform  string         `json:"platform"`
	Revisions []mcp.Revision `json:"mcp_revisions"`
}

func readBuildInfo() BuildInfo {
	b := BuildInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" +
		runtime.GOARCH, Revisions: mcp.Supported()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// Version returns the version that this program reports to servers and clients.
func Version() string { return readBuildInfo().Version }

// Date returns the date of the commit, or "" if it is not known.
func Date() string {
	date, _, _ := strings.Cut(readBuildInfo().Time, "T")
	return date
}

// PrintVersion prints b as text or JSON.
func PrintVersion(std *term.Streams, output string, b BuildInfo) error {
	if output == "json" {
		text, err := json.Marshal(b)
		std.Out.PrintJSON(text)
		return err
	}
	commit := ""
	if b.Commit != "" {
		commit = fmt.Sprintf(", commit %.12s %s", b.Commit, b.Time)
		if b.Modified {
			commit += ", modified"
		}
	}
	var revisions []string
	for _, r := range b.Revisions {
		revisions = append(revisions, string(r))
	}
	std.Out.Print(fmt.Sprintf("stdwire %s (%s, %s%s)\nMCP %s\n", cmp.Or(b.Version, "devel"), b.Go,
		b.Platform, commit, strings.Join(revisions, ", ")))
	return nil
}
