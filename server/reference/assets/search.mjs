// Filters the index page of the documentation while somebody types, as the server does for /docs?q= (index-page.ts).

export function filterAsTyped() {
  const input = document.querySelector('#words')
  if (!input) return
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    const count = showMatches(words)
    document.querySelector('.rules').hidden = words.length > 0
    document.querySelector('output').textContent = words.length > 0 ? resultsOf(count) : ''
    const url = new URL(location.href)
    if (words.length > 0) url.searchParams.set('q', input.value)
    else url.searchParams.delete('q')
    history.replaceState(undefined, '', url)
  }
  input.addEventListener('input', show)
  input.form.addEventListener('submit', (event) => event.preventDefault())
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target.closest('input, textarea, select')) return
    event.preventDefault()
    input.focus()
  })
}

const resultsOf = (count) => `${count} ${count === 1 ? 'result' : 'results'}`

/** Returns the number of results. */
function showMatches(words) {
  const isSearch = words.length > 0
  const items = [...document.querySelectorAll('[data-name]')]
  const matching = (key) =>
    new Set(items.filter(({ dataset }) => words.every((word) => dataset[key].includes(word))))
  const named = matching('name')
  const found = !isSearch ? new Set() : named.size > 0 ? named : matching('text')
  for (const entry of document.querySelectorAll('.entry')) {
    const parts = [...entry.querySelectorAll('li')]
    for (const part of parts) part.hidden = !found.has(part)
    entry.hidden = isSearch && !found.has(entry) && parts.every(({ hidden }) => hidden)
  }
  for (const group of document.querySelectorAll('.entries'))
    group.hidden = group.querySelector('.entry:not([hidden])') === null
  return found.size
}
