import { palette } from './palette.ts'

/**
 * The style of the server's own pages, such as sign-in, and of the page that `stemma auth login`
 * shows. It is inline, so that these pages load no style sheet. They can be read without it.
 */
export const pageStyle = `
${palette}* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 25rem; background: var(--card); padding: 2rem; border-radius: 0.75rem;
  box-shadow: 0 1px 3px #0003 }
header { display: flex; gap: 0.5rem; align-items: center; color: var(--leaf); font-weight: 600 }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 1.25rem 0 0.75rem }
h1, p { overflow-wrap: anywhere }
h2 { font-size: 1rem; margin: 1.75rem 0 0.5rem; padding-top: 1.25rem; border-top: 1px solid #8886 }
p { margin: 0 0 0.75rem }
.quiet { color: var(--quiet); font-size: 0.9rem }
input + .quiet { margin-top: 0.4rem }
::placeholder { color: var(--quiet); opacity: 1 }
label { display: block; font-weight: 600; margin: 0.75rem 0 0.25rem }
input { width: 100%; font: inherit; color: inherit; background: transparent; padding: 0.55rem 0.7rem;
  border: 1px solid var(--line); border-radius: 0.4rem }
button, .button { display: block; text-align: center; text-decoration: none; width: 100%; margin-top: 1rem; font: inherit; font-weight: 600; padding: 0.6rem; cursor: pointer;
  border: 1px solid var(--leaf); border-radius: 0.4rem; background: var(--leaf); color: var(--leaf-ink) }
button.plain { background: transparent; color: var(--leaf) }
:focus-visible { outline: 3px solid var(--leaf); outline-offset: 2px }
[role=alert] { background: var(--alarm-paper); color: var(--alarm); padding: 0.6rem 0.8rem; border-radius: 0.4rem }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0.35rem 1rem; margin: 0 0 0.75rem }
dt { color: var(--quiet) }
dd { margin: 0; overflow-wrap: anywhere }
form + .quiet { margin: 1rem 0 0 }
code, .code { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
code span { display: inline-block }
a { color: var(--leaf); text-underline-offset: 0.15em }
.button { color: var(--leaf-ink) }
.links { display: flex; gap: 1.25rem; margin-top: 1.25rem; font-size: 0.9rem }
.code { font-size: 1.5rem; letter-spacing: 0.1em; text-align: center }
`
