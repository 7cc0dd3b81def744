import texts from './ar.json'
import { addLanguage } from './server/add-language.ts?ar'
import sentences from './server/ar.json'

export default addLanguage('ar', texts, sentences)
