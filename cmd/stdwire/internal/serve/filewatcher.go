package serve

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// A fingerprint identifies the content of a file, regardless of its time.
type fingerprint struct {
	sum  [sha256.Size]byte // of the content, or of the error of reading it
	info fs.FileInfo       // nil if the file does not exist
	read time.Time
}

// A fileWatcher reports that files have changed, appeared or disappeared. It reads only those that
// may have changed.
type fileWatcher struct {
	paths func() []string
	read  func(path string) ([]byte, error)
	last  map[string]fingerprint
}

// watchInterval is the interval of checks. A change is reported when two checks see the same
// content, because editors write in several steps, and a half-written file may be valid.
const watchInterval = time.Second

// run calls changed once at the start and whenever the files have changed, until ctx ends. When it
// receives a value from now, it calls changed at once, with asked set.
func (f *fileWatcher) run(ctx context.Context, now <-chan struct{}, changed func(asked bool)) {
	var reported map[string][sha256.Size]byte
	seen := f.snapshot()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		before, asked := seen, false
		select {
		case <-ticker.C:
			if seen = f.snapshot(); !maps.Equal(seen, before) || maps.Equal(seen, reported) {
				continue
			}
		case <-now:
			seen, asked = f.snapshot(), true
		case <-ctx.Done():
			return
		}
		reported = seen // from before changed reads the files: a later change is reported again
		changed(asked)
	}
}

// snapshot returns the state of the files. Two snapshots are equal if the files are.
func (f *fileWatcher) snapshot() map[string][sha256.Size]byte {
	paths := f.paths()
	now, sums := make(map[string]fingerprint, len(paths)),
		make(map[string][sha256.Size]byte, len(paths))
	for _, path := range paths {
		print, known := f.last[path]
		if info, err := os.Stat(path); err != nil {
			print = fingerprint{sum: sha256.Sum256([]byte(err.Error()))}
		} else if !known || !print.isUnchanged(info) {
			print = fingerprint{info: info, read: time.Now()}
			content, err := f.read(path)
			if err != nil {
				content = []byte(err.Error())
			}
			print.sum = sha256.Sum256(content)
		}
		now[path], sums[path] = print, print.sum
	}
	f.last = now
	return sums
}

// isUnchanged reports whether info proves that the file has not changed since it was read.
func (p *fingerprint) isUnchanged(info fs.FileInfo) bool {
	return atomicfile.Unchanged(p.info, p.read, info)
}
