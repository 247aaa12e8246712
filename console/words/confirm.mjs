// Words of the dialog that asks for a fresh login.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'confirm.text': 'Sign in again to do this.',
    'confirm.factor_text': 'Confirm with your second step to do this.',
    'confirm.code_text': 'We email you a code first, because a stolen password is not enough here.',
    'confirm.do': 'Continue',
    'confirm.code': 'Email me a code instead',
    'confirm.send': 'Email me a code',
  },
  {
    'confirm.text': '此操作需要重新登录。',
    'confirm.factor_text': '此操作需要通过第二步验证。',
    'confirm.code_text': '为防止密码被盗用，我们会先向您发送邮件验证码。',
    'confirm.do': '继续',
    'confirm.code': '改用邮件验证码',
    'confirm.send': '发送邮件验证码',
  },
);
