/** A record that cannot be imported. The operator sees the message with the location of the record. */
export class RecordError extends Error {}
