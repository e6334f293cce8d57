/** The shapes of the logo, in a square of 24 by 24. The `svg` element sets their colour. */
const shapes = `<path d="M12 21V11M12 15c0-4-6-2-6-6M12 13c0-4 6-2 6-6"/>
  <circle cx="12" cy="8" r="2.5"/><circle cx="6" cy="6" r="2.5"/><circle cx="18" cy="4.5" r="2.5"/>`

const attributes = 'viewBox="0 0 24 24" fill="none" stroke-width="2" stroke-linecap="round"'

/** The logo inside of a page. */
export const logo = `<svg width="24" height="24" ${attributes} stroke="currentColor" aria-hidden="true">${shapes}</svg>`

/** The logo as a file. Its colours are the leaf colours of the palette. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" ${attributes} stroke="#1c6b48"><style>@media (prefers-color-scheme: dark) { svg { stroke: #6fcf9f } }</style>${shapes}</svg>`
