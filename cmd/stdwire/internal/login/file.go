package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/userfile"
)

// A file is the content of the file of a store.
type file struct {
	Logins []*row                     `json:"logins"`
	Others map[string]json.RawMessage `json:"-" unknown:"keep"`
}

// load reads the file if it may have changed. s.mu is held.
func (s *Store) load() error {
	if s.path == "" {
		return nil
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.rows, s.info = map[Key]*row{}, nil
		return nil
	case err != nil:
		return err
	case atomicfile.Unchanged(s.info, s.read, info):
		return nil
	}
	began := time.Now()
	content, err := userfile.ReadSecret(s.path, maxFile)
	if err != nil {
		return err
	}
	rows, err := parse(content)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	s.rows, s.info, s.read = rows, info, began
	return nil
}

func parse(content []byte) (map[Key]*row, error) {
	var f file
	if err := jsonexact.Unmarshal(jsonscan.TrimBOM(content), &f); err != nil {
		return nil, errors.New("it is not a file of logins") // the cause could quote it
	}
	if len(f.Logins) > maxRows {
		return nil, fmt.Errorf("it has more than %d logins", maxRows)
	}
	if err := near.Unknown(f.Others, "logins"); err != nil {
		return nil, err
	}
	rows := make(map[Key]*row, len(f.Logins))
	for _, r := range f.Logins {
		if r == nil || r.User == "" || r.Server == "" {
			return nil, errors.New("a login has no user or no server")
		}
		if err := near.Unknown(r.Others, "user", "client", "server", "url", "resource", "issuer",
			"scopes", "renewable", "begun", "saved", "expires", "until", "key", "sealed"); err != nil {
			return nil, err
		}
		k := r.Login.Key()
		if rows[k] != nil {
			return nil, fmt.Errorf("it has two logins of %.100q at %.100q", r.User, r.Server)
		}
		rows[k] = r
	}
	return rows, nil
}

// encode returns the content of a file of logins.
func encode(rows map[Key]*row) ([]byte, error) {
	f := file{Logins: []*row{}}
	for _, k := range slices.SortedFunc(maps.Keys(rows), compareKeys) {
		f.Logins = append(f.Logins, rows[k])
	}
	return jsonexact.Marshal(&f)
}
