package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	const want = `"tea": 30
"": no price, asked: true
"bread": 50
"tea": no price, asked: true
"tea": no price, asked: true
"tea": no price, asked: false
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
