package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func versionCommand() command {
	return command{
		name: "version", usage: "[-o text|json]",
		summary: "print the version, and the revisions of MCP that are spoken",
		make: func() (grammar, runner) {
			var output string
			return grammar{flags: []flag{format(&output, "text", "json")}}, func(_ context.Context, std *streams) error {
				return printVersion(std, output, build())
			}
		},
	}
}

// A buildInfo is what is known of how this program was built.
type buildInfo struct {
	Version   string         `json:"version"`
	Commit    string         `json:"commit,omitempty"`
	Time      string         `json:"time,omitempty"`     // of the commit
	Modified  bool           `json:"modified,omitempty"` // there were changes that are not in the commit
	Go        string         `json:"go"`
	Platform  string         `json:"platform"`
	Revisions []mcp.Revision `json:"mcp_revisions"`
}

func build() buildInfo {
	b := buildInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Revisions: mcp.Supported()}
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

// version is how this program introduces itself.
func version() string { return build().Version }

func printVersion(std *streams, output string, b buildInfo) error {
	if output == "json" {
		text, err := json.Marshal(b)
		std.out.json(text)
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
	std.out.print(fmt.Sprintf("stdwire %s (%s, %s%s)\nMCP %s\n", cmp.Or(b.Version, "devel"), b.Go, b.Platform, commit, strings.Join(revisions, ", ")))
	return nil
}
