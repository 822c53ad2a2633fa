package serve

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"time"
)

// A fingerprint is what a file looked like. Its content counts, and not when it was written.
type fingerprint struct {
	sum  [sha256.Size]byte // of the content, or of why there is none
	info fs.FileInfo       // nil if there is none
	read time.Time
}

// timestampGranularity is how far apart two changes of a file may be that leave the same time in it.
const timestampGranularity = 3 * time.Second

// A fileWatch notices that files have changed, have come or gone. It reads those only that may have.
type fileWatcher struct {
	paths func() []string
	read  func(path string) ([]byte, error)
	last  map[string]fingerprint
}

// watchInterval is how often it is looked whether files have changed. A change counts when they look the same twice: an editor may write in several steps, and what is half written may be valid.
const watchInterval = time.Second

// run calls changed when the files have changed, at once when something is sent on now, and once at
// the beginning for what happened before it was looked; until ctx ends. Asked says that it was
// because of now.
func (f *fileWatcher) run(ctx context.Context, now <-chan struct{}, changed func(asked bool)) {
	var told map[string][sha256.Size]byte
	seen := f.snapshot()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		before, asked := seen, false
		select {
		case <-ticker.C:
			if seen = f.snapshot(); !maps.Equal(seen, before) || maps.Equal(seen, told) {
				continue
			}
		case <-now:
			seen, asked = f.snapshot(), true
		case <-ctx.Done():
			return
		}
		told = seen // as they are before they are read: what changes from now on is told again
		changed(asked)
	}
}

// snapshot returns what the files look like now: maps are equal if the files are.
func (f *fileWatcher) snapshot() map[string][sha256.Size]byte {
	paths := f.paths()
	now, sums := make(map[string]fingerprint, len(paths)), make(map[string][sha256.Size]byte, len(paths))
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

// isUnchanged reports whether a file is sure to be the one that was read.
func (p *fingerprint) isUnchanged(info fs.FileInfo) bool {
	return p.info != nil && os.SameFile(p.info, info) && p.info.Size() == info.Size() && p.info.ModTime().Equal(info.ModTime()) && p.info.Mode() == info.Mode() &&
		p.read.Sub(info.ModTime()) > timestampGranularity
}
