package proc

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/proc/internal/ring"
)

// A session is a process started by proc.start.
type session struct {
	*process
	id      string
	command string
	args    []string
	stdin   input
	output  output
}

func newSession(g *guard.Process, command string, args []string, bufferSize int) *session {
	s := &session{id: newID(command), command: command, args: args, stdin: newInput(g.Stdin()),
		output: output{ring: ring.Ring{Size: bufferSize}}}
	s.process = watchProcess(g, s.output.write)
	return s
}

const maxIDName = 32 // bytes of the command's name in an id

// newID derives an id from a command: "python3-4f9a2c". It distinguishes sessions for people and
// models; [dispatch.Sessions] checks their owners.
func newID(command string) string {
	name := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
			c == '-' {
			return c
		}
		return '_'
	}, filepath.Base(command))
	name = strings.Trim(name[:min(len(name), maxIDName)], "_-")
	name = cmp.Or(name, "process")
	var unique [3]byte
	rand.Read(unique[:]) // never fails
	return name + "-" + hex.EncodeToString(unique[:])
}
