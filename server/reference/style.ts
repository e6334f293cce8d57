// The style of the reference pages, and the script of their search field.
import { palette } from '@stemma/api/look/palette.ts'
import { hashOf } from '../pages/frame.ts'

export const style = `
${palette}* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif }
header, main, footer { max-width: 58rem; margin: 0 auto; padding: 1rem clamp(0.75rem, 4vw, 2rem) }
header { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; align-items: baseline }
header strong { color: var(--leaf) }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0.5rem 0 0.75rem; overflow-wrap: anywhere }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 0.5rem; overflow-wrap: anywhere }
h3 { font-size: 1rem; margin: 1.25rem 0 0.25rem }
p { margin: 0 0 0.75rem }
a { color: var(--leaf); text-underline-offset: 0.15em }
h2 a, h3 a, li a { text-decoration: none }
h2 a:hover, h3 a:hover, li a:hover { text-decoration: underline }
:focus-visible { outline: 3px solid var(--leaf); outline-offset: 2px }
:target { scroll-margin-top: 1rem; outline: 2px solid var(--leaf) }
section, article { background: var(--card); border-radius: 0.6rem; padding: 1rem clamp(0.75rem, 3vw, 1.5rem);
  margin: 0 0 1rem }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere }
pre { background: var(--paper); padding: 0.75rem; border-radius: 0.4rem; overflow-x: auto; margin: 0.75rem 0 0 }
pre code { overflow-wrap: normal; font-size: 0.85rem }
ul { list-style: none; margin: 0; padding: 0 }
li { padding: 0.35rem 0; border-top: 1px solid #8883 }
li p { margin: 0 }
.verb { display: inline-block; min-width: 4.2em; font: 700 0.75rem/1.6 ui-monospace, monospace }
.quiet { color: var(--quiet); font-size: 0.9rem }
.call { font-size: 1rem }
dl { margin: 0 }
dt code { font-weight: 600 }
dt { border-top: 1px solid #8883; padding-top: 0.4rem; overflow-wrap: anywhere }
dd { margin: 0 0 0.4rem; padding-left: 1rem }
label { display: block; font-weight: 600; margin-bottom: 0.25rem }
input { width: 100%; font: inherit; color: inherit; background: var(--card); padding: 0.55rem 0.7rem;
  border: 1px solid var(--line); border-radius: 0.4rem }
search { margin-bottom: 1rem }
[hidden] { display: none }
`

/**
 * Shows only calls that contain every word of the search, and all calls of a section whose heading contains every word.
 * Hides sections without a visible call, and the introduction, so that the results are directly below the field.
 */
export const script = `
const search = document.querySelector('search')
const sections = [...document.querySelectorAll('section.service')]
search.hidden = false
search.querySelector('input').addEventListener('input', ({ target }) => {
  const words = target.value.toLowerCase().split(/\\s+/).filter(Boolean)
  const matches = (element) => words.every((word) => element.textContent.toLowerCase().includes(word))
  document.querySelector('section.introduction').hidden = words.length > 0
  let total = 0
  for (const section of sections) {
    const isHeadingMatch = matches(section.querySelector('h2'))
    let shown = 0
    for (const item of section.querySelectorAll('li')) {
      item.hidden = !isHeadingMatch && !matches(item)
      shown += item.hidden ? 0 : 1
    }
    section.hidden = shown === 0
    total += shown
  }
  document.querySelector('output').textContent = words.length === 0 ? '' : total + ' calls'
})
`

/** Allows this style and this script, and nothing from other hosts. */
export const policy = `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
