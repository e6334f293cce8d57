import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCommonPassword } from './common-passwords.ts'

test('common passwords and their usual variations are recognised', () => {
  for (const password of [
    ...['1qaz2wsx3edc', 'motherfucker', 'administrator', 'Administrator'],
    ...['Password2026!', 'password1234', '123password!!', 'P4$$w0rd!!!!', 'p@ssw0rd2026', 'Welcome12345'],
    ...[
      'passwordpassword',
      'qwertyqwerty',
      'dragondragon99',
      'letmeinletmein',
      'abcabcabcabc',
      'abcabcabc1!',
      'aaaaaa123456',
    ],
    ...['123456789012', '098765432109', 'abcdefghijkl', 'qwertyuiopas', 'asdfghjklzxc', '121212121212'],
    'ｐａｓｓｗｏｒｄ２０２６',
  ])
    assert.equal(isCommonPassword(password), true, password)
})

test('other passwords are not recognised as common', () => {
  for (const password of [
    ...['several easy words', 'correct horse battery staple', 'the password of a squatter'],
    ...[
      'dragon eats password',
      'x7Kq-92mfT-aa01',
      '8392-0174-aa-5521',
      '8392-0174-abab-5521',
      '8392cat0174',
      'xq","zk","wv","',
      '839201748302',
      'пароль для теста',
      '🌲🌲🌳🌲🌳🌳🌲🌲🌳🌲🌳🌲',
    ],
  ])
    assert.equal(isCommonPassword(password), false, password)
})

test('an empty password is not common', () => {
  assert.equal(isCommonPassword(''), false)
})
