package conformance

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// CheckServer checks what a server said in all connections that Tap recorded by this name.
func (s *Schemas) CheckServer(record string) (Checked, error) {
	return s.checkRecords(record, fromServer)
}

// CheckClient checks what a client said in all connections that Tap recorded by this name.
func (s *Schemas) CheckClient(record string) (Checked, error) {
	return s.checkRecords(record, fromClient)
}

func (s *Schemas) checkRecords(record string, from byte) (Checked, error) {
	lines, err := ReadRecords(record)
	all := Checked{}
	for _, connection := range lines {
		talk := s.conversation(from)
		for _, line := range connection {
			err = errors.Join(err, talk.Frame(line[0] == fromServer, line[1:]))
		}
		for kind, n := range talk.Checked {
			all[kind] += n
		}
	}
	return all, err
}

// ReadRecords returns what Tap recorded by this name, the lines of each connection, with '>' before what the client wrote and '<'
// before what the server wrote.
func ReadRecords(record string) (connections [][][]byte, err error) {
	files, err := filepath.Glob(record + ".*")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var lines [][]byte
		for line := range bytes.Lines(raw) {
			lines = append(lines, line)
		}
		connections = append(connections, lines)
	}
	return connections, nil
}
