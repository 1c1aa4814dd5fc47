package exhibit

import "testing"

func TestAddressesAreOnLoopbackUnlessSaidOtherwise(t *testing.T) {
	for text, want := range map[string]string{
		":9100": "127.0.0.1:9100", "0.0.0.0:9100": "0.0.0.0:9100", "[::1]:0": "[::1]:0", "localhost:80": "localhost:80",
	} {
		var a address
		if err := a.Set(text); err != nil || a.String() != want {
			t.Errorf("%s is %s, error %v; want %s", text, a.String(), err, want)
		}
	}
	a := address{optional: pageAddress}
	if err := a.Set("true"); err != nil || a.String() != pageAddress {
		t.Errorf("a bare -page is %s, error %v", a.String(), err)
	}
	if err := a.Set("false"); err != nil || a.String() != "" {
		t.Errorf("-page=false is %s, error %v", a.String(), err)
	}
}
