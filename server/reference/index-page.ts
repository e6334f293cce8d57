// The first page: a search, the lists of guides and of services, and the rules of every call.
import { errorResponses } from '@stemma/api/reference/error-responses.ts'
import { introduction } from '@stemma/api/reference/introduction.ts'
import type { Operation, Service } from '@stemma/api/reference/operations.ts'
import { pageOf } from '@stemma/api/reference/page.ts'
import type { Html } from '../pages/html.ts'
import { html } from '../pages/html.ts'
import { headingsOf } from './guide-page.ts'
import type { Guide } from './guides.ts'
import type { Site } from './layout.ts'
import { page } from './layout.ts'
import { breakable, inline, prose } from './prose.ts'

/** An item of the search. If any name matches, items with only a matching text are hidden. */
type Item = { name: string; text: string; item: Html }
/** A page, and its parts, which only searches show. */
type Entry = Item & { parts: Item[] }
type EntryGroup = { title: string; entries: Entry[] }

/** A longer search is cut off. */
const maxSearchLength = 200

/** Makes the entries once, because this takes longer than a search. */
export function openIndex(site: Site): (search: string) => string {
  const groups = entryGroups(site)
  return (search) => indexPage(site, groups, search.slice(0, maxSearchLength))
}

function entryGroups(site: Site): EntryGroup[] {
  return [
    ...site.sections.map(({ title, guides }) => ({
      title,
      entries: guides.map((guide) => guideEntry(site, guide)),
    })),
    {
      title: 'API',
      entries: site.services
        .filter(({ version }) => version !== 'v1')
        .map((service) => serviceEntry(site, service)),
    },
    {
      title: 'Version 1 of the API',
      entries: site.services
        .filter(({ version }) => version === 'v1')
        .map((service) => serviceEntry(site, service)),
    },
  ]
}

const itemOf = (name: string, about: string, item: Html): Item => ({
  ...{ name: name.toLowerCase(), text: `${name} ${about}`.toLowerCase(), item },
})

function guideEntry({ prefix }: Site, { slug, title, about }: Guide): Entry {
  const path = `${prefix}/docs/${slug}`
  const head = html`<h3><a href="${path}">${title}</a></h3><p>${inline(about)}</p>`
  return {
    ...itemOf(`${title} ${about}`, '', head),
    parts: headingsOf(slug).map(({ text, anchor }) =>
      itemOf(`${title} ${text}`, '', html`<a href="${path}#${anchor}">${text}</a>`),
    ),
  }
}

function serviceEntry({ prefix }: Site, service: Service): Entry {
  const { title, version, slug, description } = service
  const path = `${prefix}/docs/${slug}`
  const summary = description.split('\n\n')[0] ?? ''
  return {
    ...itemOf(
      `${title} ${version}`,
      summary,
      html`<h3><a href="${path}">${title}</a></h3><p>${inline(summary)}</p>`,
    ),
    parts: pageOf(service).operations.map(({ operation, anchor }) =>
      itemOf(
        [title, operation.method.desc.name, operation.verb, operation.path].join(' '),
        operation.summary,
        html`<a href="${path}#${anchor}">${call(operation)}</a><p class="quiet">${inline(operation.summary)}</p>`,
      ),
    ),
  }
}

export const call = ({ verb, path }: Operation) =>
  html`<span class="verb ${verb.toLowerCase()}">${verb}</span> <code>${breakable(path)}</code>`

const resultsOf = (count: number) => `${count} ${count === 1 ? 'result' : 'results'}`

/** The script of the page (assets/search.mjs) filters in the same way while somebody types. */
function indexPage(site: Site, groups: EntryGroup[], search: string): string {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const isSearch = words.length > 0
  const isNamed = ({ name }: Item) => words.every((word) => name.includes(word))
  const isMentioned = ({ text }: Item) => words.every((word) => text.includes(word))
  const all = groups.flatMap(({ entries }) => entries.flatMap((entry) => [entry, ...entry.parts]))
  const isMatch = all.some(isNamed) ? isNamed : isMentioned
  return page(site, {
    title: 'Documentation',
    slug: undefined,
    body: html`<search><form action="${site.prefix}/docs" method="get">
<label for="words">Search the guides and all calls</label>
<input id="words" name="q" type="search" value="${search}" maxlength="${maxSearchLength}" autocomplete="off" placeholder="create group, passkey, rate limits …">
</form><output for="words" class="quiet">${isSearch && resultsOf(all.filter(isMatch).length)}</output></search>
${groups.map((group) => groupHtml(group, isSearch ? isMatch : undefined))}
<div class="rules"${hiddenIf(isSearch)}>
<section id="rules" class="card"><h2>Rules of every call</h2>${prose(introduction)}
<p>All calls as one document: <a href="${site.prefix}/openapi.json">OpenAPI</a>.</p></section>
<section id="errors" class="card"><h2>Errors</h2><dl>${Object.values(errorResponses).map(
      ({ status, name, description }) => html`<dt>${status} ${name}</dt><dd>${inline(description)}</dd>`,
    )}</dl></section></div>`,
    contents: [],
  })
}

const hiddenIf = (isHidden: boolean) => isHidden && html` hidden`

type IsMatch = (item: Item) => boolean

/** Without a search, the entries are shown without their parts. */
function groupHtml({ title, entries }: EntryGroup, isMatch: IsMatch | undefined): Html {
  const isShown = (entry: Entry) => !isMatch || isMatch(entry) || entry.parts.some(isMatch)
  return html`<section class="entries"${hiddenIf(!entries.some(isShown))}><h2>${title}</h2>
<div class="grid">${entries.map(
    (entry) => html`<section class="entry" ${searchable(entry)}${hiddenIf(!isShown(entry))}>${entry.item}
<ul>${entry.parts.map((part) => html`<li ${searchable(part)}${hiddenIf(!isMatch?.(part))}>${part.item}</li>`)}</ul></section>`,
  )}</div></section>`
}

const searchable = ({ name, text }: Item) => html`data-name="${name}" data-text="${text}"`
