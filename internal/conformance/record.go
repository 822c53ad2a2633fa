package conformance

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// CheckServer validates the messages of the server in all connections that Tap recorded with this
// name.
func (s *Schemas) CheckServer(record string) (Checked, error) {
	return s.checkRecords(record, fromServer)
}

// CheckClient validates the messages of the client in all connections that Tap recorded with this
// name.
func (s *Schemas) CheckClient(record string) (Checked, error) {
	return s.checkRecords(record, fromClient)
}

func (s *Schemas) checkRecords(record string, from byte) (Checked, error) {
	lines, err := ReadRecords(record)
	all := Checked{}
	for _, connection := range lines {
		conversation := s.conversation(from)
		for _, line := range connection {
			err = errors.Join(err, conversation.Frame(line[0] == fromServer, line[1:]))
		}
		for kind, n := range conversation.Checked {
			all[kind] += n
		}
	}
	return all, err
}

// ReadRecords returns the lines of each connection that Tap recorded with this name. A line of the
// client starts with '>', one of the server with '<'.
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
