package command

import (
	"context"
	_ "embed" // for commit.txt
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

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

// Next is the version of the next release. A program that is built from the tag of that release has
// this version, and any other has it with the suffix -devel.
const Next = "0.9.0"

// Implementation returns how this program identifies itself to servers.
func Implementation() mcp.Implementation {
	return mcp.Implementation{Name: "stdwire", Version: Version()}
}

// A BuildInfo describes how this program was built.
type BuildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Time    string `json:"time,omitempty"` // of the commit
	// the working tree had uncommitted changes
	Modified bool `json:"modified,omitempty"`
	// the commit is that of a git archive, so that changes cannot be known
	Archive bool `json:"archive,omitempty"`
	// the version of the Go module, if the program was built from a module proxy or by go install
	Module    string         `json:"module,omitempty"`
	Go        string         `json:"go"`
	Platform  string         `json:"platform"`
	Revisions []mcp.Revision `json:"mcp_revisions"`
}

//go:embed commit.txt
var commitFile string

// archiveCommit parses the content of commit.txt, in which git archive replaces the placeholders:
// the commit, its time and the tag. It returns "" if the program is not from an archive.
func archiveCommit(content string) (commit, at, tag string) {
	lines := strings.Split(content, "\n")
	if len(lines) < 3 || strings.HasPrefix(lines[0], "$") {
		return "", "", ""
	}
	if t, err := time.Parse(time.RFC3339, lines[1]); err == nil {
		at = t.UTC().Format(time.RFC3339)
	}
	return lines[0], at, lines[2]
}

func readBuildInfo() BuildInfo {
	b := BuildInfo{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Revisions: mcp.Supported()}
	var tag string
	b.Commit, b.Time, tag = archiveCommit(commitFile)
	b.Archive = b.Commit != ""
	if info, ok := debug.ReadBuildInfo(); ok {
		b.addSettings(info)
	}
	b.Version = b.version(tag)
	return b
}

// version returns the version of a program with this tag.
func (b *BuildInfo) version(tag string) string {
	if released := "v" + Next; b.Modified || tag != released && b.Module != released {
		return Next + "-devel"
	}
	return Next
}

// addSettings adds the settings that the go command recorded.
func (b *BuildInfo) addSettings(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "(devel)" {
		b.Module = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit, b.Archive = s.Value, false
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
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
		return std.Out.PrintValue(b)
	}
	source := "of an unknown commit"
	switch {
	case b.Commit != "":
		source = fmt.Sprintf("commit %.12s %s", b.Commit, b.Time)
		if b.Modified {
			source += ", modified"
		}
		if b.Archive {
			source += ", from an archive"
		}
	case b.Module != "":
		source = "module " + b.Module
	}
	var revisions []string
	for _, r := range b.Revisions {
		revisions = append(revisions, string(r))
	}
	std.Out.Print(fmt.Sprintf("stdwire %s (%s, %s, %s)\nMCP %s\n", b.Version, b.Go,
		b.Platform, source, strings.Join(revisions, ", ")))
	return nil
}
