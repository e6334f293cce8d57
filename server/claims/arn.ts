// The ARN of an AWS caller, such as arn:aws:sts::123456789012:assumed-role/name/session.

/** Describes why the text cannot be the ARN of a caller in the account. Undefined if it can. */
export function arnFault(arn: string, account: string): string | undefined {
  const [, accountInArn] = /^arn:[a-z0-9-]+:[a-z0-9-]+:[a-z0-9-]*:(\d{12}):.+$/.exec(arn) ?? []
  if (accountInArn === undefined)
    return `must be an ARN such as arn:aws:sts::${account}:assumed-role/name/session`
  return accountInArn === account
    ? undefined
    : 'must be the ARN of a caller in the account that aws_account names'
}
