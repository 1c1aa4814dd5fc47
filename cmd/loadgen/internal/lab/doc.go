// Package lab is the page to play with: one sets a dependency, its callers, an
// incident and a breaker, and sees what several breakers make of it.
//
// Everything that the page shows is computed here, by package sim: from a
// [Setup], which an address holds, to the shapes of its charts. Package labserve
// serves the page, and the program in wasm runs the same code in a browser, so
// that nothing here may need a network.
package lab
