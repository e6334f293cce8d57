// A CloudEvent 1.0: context attributes and data. Its two HTTP forms are in http-message.ts.

/** Context attributes by name. Names consist of lowercase letters and digits; values are never empty. */
export type Attributes = Readonly<Record<string, string>>

export type CloudEvent = {
  /** With `specversion`, without `datacontenttype`. */
  readonly attributes: Attributes
  readonly contentType: 'application/json'
  /** The data as JSON text: `{"actor":{…},"body":{…}}`. */
  readonly data: string
}
