module github.com/atomicbreaker/breaker/contrib/breakerpage/browsertest

go 1.26.0

require (
	github.com/atomicbreaker/breaker v0.0.0
	github.com/chromedp/cdproto v0.160.1
	github.com/chromedp/chromedp v0.23.1
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/loov/hrtime v1.0.3 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/atomicbreaker/breaker => ../../..
