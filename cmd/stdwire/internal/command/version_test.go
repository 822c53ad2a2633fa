package command

import (
	"runtime/debug"
	"testing"

	"gotest.tools/v3/assert"
)

// The commit is that of the repository or of the archive; only the tag of the next release removes
// the suffix.
func TestBuildInfo(t *testing.T) {
	commit, at, tag := archiveCommit(commitFile)
	assert.Equal(t, commit+at+tag, "", "commit.txt has its placeholders unless it is in an archive")
	commit, at, tag = archiveCommit("0123\n2026-01-02T05:04:05+02:00\nv0.9.0\n")
	assert.Equal(t, commit, "0123")
	assert.Equal(t, at, "2026-01-02T03:04:05Z")
	assert.Equal(t, tag, "v0.9.0")

	var b BuildInfo
	b.addSettings(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}})
	assert.Equal(t, b.Module, "")
	b = BuildInfo{Commit: "archive", Archive: true}
	b.addSettings(&debug.BuildInfo{Main: debug.Module{Version: "v0.9.0"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}})
	assert.Equal(t, b.Commit, "0123")
	assert.Assert(t, b.Modified && !b.Archive)
	for _, tt := range []struct {
		b    BuildInfo
		tag  string
		want string
	}{
		{BuildInfo{}, "", Next + "-devel"},
		{BuildInfo{}, "v" + Next, Next},
		{BuildInfo{}, "v" + Next + "-3-g0123456", Next + "-devel"},
		{BuildInfo{Module: "v" + Next}, "", Next},
		{BuildInfo{Module: "v" + Next, Modified: true}, "", Next + "-devel"},
	} {
		assert.Equal(t, tt.b.version(tt.tag), tt.want)
	}
}
