import { api } from './api.ts'
import { read, useRead } from './read.ts'

/** The account of the signed-in person. */
export const readAccount = () => read(api.account.getAccount, {})

/** Whether the person is an operator of the server. False until the account is loaded. */
export const useIsOperator = (): boolean => useRead(readAccount()).data?.operator === true
