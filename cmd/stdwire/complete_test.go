package main

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestComplete(t *testing.T) {
	const more = "note: these are 2 of 5\n"
	assert.Equal(t, against(t, "complete prompt greet city O", "library"),
		ran{0, "Oslo\n" + `{"type":"ref/prompt","name":"greet"}` + "\n", more})
	assert.Equal(t, against(t, "complete prompt greet city name=Ann style=x=y", "library").stdout,
		"slo\n"+`{"arguments":{"name":"Ann","style":"x=y"}}{"type":"ref/prompt","name":"greet"}`+
			"\n")
	assert.Equal(t, against(t, "complete prompt greet city city=a=b name=Ann", "library").stdout,
		"a=bslo\n"+`{"arguments":{"name":"Ann"}}{"type":"ref/prompt","name":"greet"}`+"\n")
	assert.Equal(t, against(t, "complete resource file:///{name} name no", "library").stdout,
		"noslo\n"+`{"type":"ref/resource","uri":"file:///{name}"}`+"\n")
	assert.Equal(t, against(t, "complete prompt greet style", "library"),
		ran{0, "", "note: the server suggests nothing\n"})
	got := against(t, "complete prompt greet city O -o json", "library")
	assert.Equal(t, got,
		ran{0, `{"completion":{"values":["Oslo","{\"type\":\"ref/prompt\",\"name\":\"greet\"}"],"total":5}, "x-unknown": 1.0}` +
			"\n", ""})

	got = against(t, "complete prompt greet city O name=Ann", "old")
	assert.Equal(t, got,
		ran{0, "Oslo\n" + `{"type":"ref/prompt","name":"greet"}` + "\n",
			"note: the server uses 2025-03-26, in which requests cannot carry the other arguments\n" +
				more})
}
