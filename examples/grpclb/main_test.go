package main

import (
	"strings"
	"testing"
)

func TestAsk(t *testing.T) {
	policy, err := register()
	if err != nil {
		t.Fatal(err)
	}
	addrs, stop, err := ownServers()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var out strings.Builder
	if err := ask(&out, policy, addrs, 100); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), addrs[1]+": open, 0 succeeded, 3 failed") || !strings.Contains(out.String(), "97 of 100 calls answered") {
		t.Errorf("printed\n%s", out.String())
	}
}
