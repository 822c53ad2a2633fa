package filewatch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// Real files, and a clock that goes when the test wants it to: what is written is told when it has
// not changed for a second.
func TestFileWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
		write := func(path,
			text string) {
			assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		write(one, "a")
		now := make(chan struct{}, 1)
		var told atomic.Int32
		f := &Watcher{Limit: 1 << 10,
			Files: At(func() []string { return []string{one, other} })}
		go f.Run(t.Context(), now, func(bool) { told.Add(1) })
		expect := func(want int, why string) {
			t.Helper()
			synctest.Wait()
			assert.Equal(t, told.Swap(0), int32(want), why)
		}
		time.Sleep(500 * time.Millisecond) // between two looks
		expect(0, "nothing was looked at twice")
		time.Sleep(time.Minute)
		expect(1, "what happened before is not known")

		write(one, "b")
		time.Sleep(time.Second)
		expect(0, "more may come")
		time.Sleep(time.Second)
		expect(1, "changed")
		time.Sleep(time.Minute)
		expect(0, "and no more")

		write(one, "") // an editor in two steps
		time.Sleep(time.Second)
		write(one, "cc")
		time.Sleep(time.Second)
		expect(0, "it was not done")
		time.Sleep(time.Second)
		expect(1, "now it is")

		write(other+".new", "dd")
		assert.NilError(t, os.Rename(other+".new", other))
		time.Sleep(2 * time.Second)
		expect(1, "there is another file")
		assert.NilError(t, os.Remove(one))
		time.Sleep(2 * time.Second)
		expect(1, "one is gone")
		write(one, "cc")
		time.Sleep(time.Second)
		assert.NilError(t, os.Remove(one))
		time.Sleep(time.Minute)
		expect(0, "nothing has become of it")

		info, err := os.Stat(other)
		assert.NilError(t, err)
		write(other, "ee") // of the same size, and then of the same time
		assert.NilError(t, os.Chtimes(other, info.ModTime(), info.ModTime()))
		time.Sleep(2 * time.Second)
		expect(1, "the content counts")
		write(other, "ee")
		time.Sleep(time.Minute)
		expect(0, "and nothing but that")

		for i := range 100 { // none stays for long enough
			write(other, fmt.Sprint(i))
			time.Sleep(700 * time.Millisecond)
		}
		expect(0, "who knows what comes")
		time.Sleep(time.Minute)
		expect(1, "the last")
		for i := range 100 {
			write(other, fmt.Sprint("x", i))
			time.Sleep(2 * time.Second)
		}
		expect(100, "each counts")

		write(other, "half of i")
		now <- struct{}{}
		expect(1, "at once")
		now <- struct{}{}
		expect(1, "also if nothing has changed")
		time.Sleep(time.Minute)
		expect(0, "once")
	})
}

// What is sure to be the same is not read again and again.
func TestFileWatchReadsWhatMayHaveChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one")
	write := func(text string, age time.Duration) {
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		at := time.Now().Add(-age)
		assert.NilError(t, os.Chtimes(path, at, at))
	}
	reads := 0
	f := &Watcher{Limit: 1 << 10, Files: func() map[string]File {
		info, err := os.Stat(path)
		return map[string]File{path: {info, err, func() (fs.File, error) {
			reads++
			return os.Open(path)
		}}}
	}}
	for _, step := range []struct {
		text string
		age  time.Duration
		want int
	}{{"a", time.Hour, 1}, {"b", 2 * time.Hour, 1}, {"c", 0, 10}} {
		write(step.text, step.age)
		reads = 0
		for range 10 {
			f.snapshot(t.Context())
		}
		assert.Equal(t, reads, step.want, step.text)
	}
}
