import { serverText } from '../texts/texts.ts'

const sentences = [
  'The sign-in has expired or was not started in this browser. Please try again.',
  'The provider sent no code. Please try again.',
  'The provider did not let you sign in.',
  'Too many sign-in attempts. Please try again later.',
  'The provider cannot be reached or its answer is not valid. Please try again later.',
  'The provider refused the sign-in. Please try again.',
  'The provider has no verified e-mail address for you.',
  'The e-mail address that the provider has for you is not accepted here.',
  'E-mail addresses of your domain cannot sign in here.',
  'The account with your e-mail address belongs to somebody else at the provider. Please ask an admin.',
  'There is no invitation for your e-mail address. Please ask an admin.',
  'This account is deactivated. Please ask an admin.',
  'The sign-in failed. Please try again.',
  'Too many requests. Please slow down',
]

/**
 * Why a sign-in through a provider has failed, in the language of the person. The sentence comes from the address of the page, which anybody
 * can make up, so only sentences of the server are shown. Any other one becomes a general sentence.
 */
export const providerRefusal = (sentence: string) =>
  serverText(sentences.includes(sentence) ? sentence : 'The sign-in failed. Please try again.')
